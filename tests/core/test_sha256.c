/* SHA-256 against published vectors, and the helpers around it. */
#include "core/sha256.h"

#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>

#include <string.h>

#define EMPTY_HEX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC_HEX   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

Test(sha256, published_vectors)
{
    char hex[WF_SHA256_HEX];

    wf_sha256_hex("", 0, hex);
    cr_assert_str_eq(hex, EMPTY_HEX);
    wf_sha256_hex(NULL, 0, hex);
    cr_assert_str_eq(hex, EMPTY_HEX);
    wf_sha256_hex("abc", 3, hex);
    cr_assert_str_eq(hex, ABC_HEX);
}

Test(sha256, pieces_give_the_same_as_the_whole)
{
    struct wf_sha256 *s = wf_sha256_create();
    uint8_t digest[WF_SHA256_BYTES];
    char hex[WF_SHA256_HEX];
    char piece[1000];

    memset(piece, 'a', sizeof piece);
    cr_assert_not_null(s);
    wf_sha256_update(s, NULL, 0);
    for (int i = 0; i < 1000; i++) {
        wf_sha256_update(s, piece, sizeof piece);
    }
    wf_sha256_finish(s, digest);
    wf_hex(digest, sizeof digest, hex);
    cr_assert_str_eq(hex, MILLION_A);
}

Test(sha256, unfinished_state_is_freed)
{
    wf_sha256_destroy(wf_sha256_create());
    wf_sha256_destroy(NULL);
}

Test(sha256, file_is_hashed_in_chunks)
{
    struct temp_dir dir;
    char hex[WF_SHA256_HEX];
    struct wf_error err;
    char *data = malloc(1000000);

    cr_assert_not_null(data);
    memset(data, 'a', 1000000);
    temp_dir_make(&dir);
    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "a"), data, 1000000, &err),
                 WF_OK);
    cr_assert_eq(wf_sha256_file(dir.file, hex, &err), WF_OK);
    cr_assert_str_eq(hex, MILLION_A);
    cr_assert_eq(wf_sha256_file(temp_dir_file(&dir, "none"), hex, &err), WF_ENOTFOUND);
    cr_assert_eq(wf_sha256_file(dir.path, hex, &err), WF_EINVAL,
                 "a folder cannot be read");
    temp_dir_remove(&dir);
    free(data);
}

Test(sha256, hex_form_is_64_lower_case_digits)
{
    cr_assert(wf_sha256_is_hex(ABC_HEX));
    cr_assert_not(wf_sha256_is_hex(NULL));
    cr_assert_not(wf_sha256_is_hex(""));
    cr_assert_not(wf_sha256_is_hex(ABC_HEX "0"));
    cr_assert_not(wf_sha256_is_hex(&ABC_HEX[1]));
    cr_assert_not(wf_sha256_is_hex(
        "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    cr_assert_not(wf_sha256_is_hex(
        "../../bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

Test(sha256, random_bytes_differ)
{
    uint8_t a[16] = { 0 };
    uint8_t b[16] = { 0 };

    cr_assert_eq(wf_random_bytes(a, sizeof a, NULL), WF_OK);
    cr_assert_eq(wf_random_bytes(b, sizeof b, NULL), WF_OK);
    cr_assert_not(wf_equal_secret(a, b, sizeof a));
    cr_assert(wf_equal_secret(a, a, sizeof a));
}
