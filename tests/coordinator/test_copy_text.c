/* Text for COPY and array parameters, SQLSTATE classes, tokens. */
#include "coordinator/auth.h"
#include "coordinator/db.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

Test(copy_text, every_byte_is_escaped_or_itself)
{
    struct wf_buf b = WF_BUF_INIT;
    cr_assert_eq(wf_copy_i64(&b, -5, NULL), WF_OK);
    cr_assert_eq(wf_copy_text(&b, "a\tb\nc\\d\re", NULL), WF_OK);
    cr_assert_eq(wf_copy_text(&b, NULL, NULL), WF_OK);
    cr_assert_eq(wf_copy_text(&b, "", NULL), WF_OK);
    cr_assert_eq(wf_copy_text(&b, "\\N", NULL), WF_OK);
    cr_assert_eq(wf_copy_f64(&b, 0.1, NULL), WF_OK);
    cr_assert_eq(wf_copy_f64(&b, NAN, NULL), WF_OK);
    cr_assert_eq(wf_copy_end_row(&b, NULL), WF_OK);
    cr_assert_eq(wf_copy_i64(&b, 1, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&b),
                     "-5\ta\\tb\\nc\\\\d\\re\t\\N\t\t\\\\N\t0.1\t\\N\n1");
    wf_buf_free(&b);
}

Test(copy_text, array_items_are_quoted)
{
    struct wf_buf b = WF_BUF_INIT;
    cr_assert_eq(wf_pg_array_end(&b, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&b), "{}");
    wf_buf_clear(&b);
    cr_assert_eq(wf_pg_array_add(&b, "a\"b\\c,{}", NULL), WF_OK);
    cr_assert_eq(wf_pg_array_add(&b, "", NULL), WF_OK);
    cr_assert_eq(wf_pg_array_end(&b, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&b), "{\"a\\\"b\\\\c,{}\",\"\"}");
    wf_buf_free(&b);
}

Test(copy_text, sqlstates_have_a_class)
{
    cr_assert_eq(wf_sqlstate_class("40001"), WF_DB_RETRY);
    cr_assert_eq(wf_sqlstate_class("40P01"), WF_DB_RETRY);
    cr_assert_eq(wf_sqlstate_class("08006"), WF_DB_AWAY);
    cr_assert_eq(wf_sqlstate_class("57P01"), WF_DB_AWAY);
    cr_assert_eq(wf_sqlstate_class("57P03"), WF_DB_AWAY);
    cr_assert_eq(wf_sqlstate_class("53300"), WF_DB_AWAY);
    cr_assert_eq(wf_sqlstate_class("57014"), WF_DB_FATAL);
    cr_assert_eq(wf_sqlstate_class("22P02"), WF_DB_BAD_DATA);
    cr_assert_eq(wf_sqlstate_class("23505"), WF_DB_BAD_DATA);
    cr_assert_eq(wf_sqlstate_class("42P01"), WF_DB_FATAL);
}

Test(copy_text, too_many_parameters_are_refused)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_db *db = NULL;
    struct wf_error err = { 0 };
    for (int i = 0; i < WF_DB_MAX_PARAMS + 5; i++) {
        wf_param_i64(&p, i);
    }
    cr_assert_eq(wf_db_open("host=/nowhere", "test", &db, NULL), WF_OK);
    cr_assert_eq(wf_db_run(db, WF_STMT_PING, &p, NULL, &err), WF_EINTERNAL);
    cr_assert_eq(wf_db_run(db, WF_STMT_PING, NULL, NULL, &err), WF_ENETWORK);
    cr_assert(strstr(err.text, "database is away"));
    cr_assert_eq(wf_db_error_class(&err), WF_DB_AWAY);
    wf_db_close(db);
}

Test(auth, only_tokens_of_the_right_form_are_looked_up)
{
    char token[WF_TOKEN_CHARS + 1] = "wf_r_0123456789abcdefghijklmnopqrstuvwxyzABCDE-_";
    cr_assert_eq(strlen(token), WF_TOKEN_CHARS);
    cr_assert(wf_token_is_formed(token));
    token[10] = '+';
    cr_assert_not(wf_token_is_formed(token));
    token[10] = 'x';
    token[4] = '-';
    cr_assert_not(wf_token_is_formed(token));
    cr_assert_not(wf_token_is_formed(""));
    cr_assert_not(wf_token_is_formed("wf_r_short"));
}
