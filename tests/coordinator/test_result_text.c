/* Splitting samples off a canonical result. */
#include "coordinator/result_text.h"

#include <criterion/criterion.h>

static void split(const char *text,
                  const char *task,
                  const char *run,
                  const char *body,
                  const char *samples,
                  const char *clock)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_buf array[WF_ARRAY_COUNT] = { 0 };
    cr_assert_eq(wf_result_text_split(text, task, run, &out, array, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&out), body);
    cr_assert_str_eq(wf_buf_cstr(&array[WF_ARRAY_samples]), samples);
    cr_assert_str_eq(wf_buf_cstr(&array[WF_ARRAY_clock_mhz]), clock);
    cr_assert_str_eq(wf_buf_cstr(&array[WF_ARRAY_power_w]), "");
    wf_buf_free(&out);
    for (size_t i = 0; i < WF_ARRAY_COUNT; i++) {
        wf_buf_free(&array[i]);
    }
}

Test(result_text, samples_leave_the_body_and_nothing_else_does)
{
    split("{\"a\":[1,{\"samples\":[9]}],\"timing\":{\"clock_mhz\":[],\"max\":2,"
          "\"samples\":[1,-2.5e-7,\"nan\",\"-inf\"],\"unit\":\"ns\"},\"z\":{\"timing\":"
          "{\"samples\":[7]}}}",
          NULL, NULL,
          "{\"a\":[1,{\"samples\":[9]}],\"timing\":{\"clock_mhz\":[],\"max\":2,"
          "\"samples\":[],\"unit\":\"ns\"},\"z\":{\"timing\":{\"samples\":[7]}}}",
          "{1,-2.5e-7,nan,-inf}", "{}");
}

Test(result_text, every_array_of_samples_leaves_the_body)
{
    static const char text[] =
        "{\"timing\":{\"clock_mhz\":[1],\"invalid\":[0],\"power_w\":[2],"
        "\"samples\":[3],\"temperature_c\":[\"nan\",4],\"throttle\":[1,5]}}";
    struct wf_buf out = WF_BUF_INIT;
    struct wf_buf array[WF_ARRAY_COUNT] = { 0 };
    cr_assert_eq(wf_result_text_split(text, NULL, NULL, &out, array, NULL), WF_OK);
    cr_expect_str_eq(wf_buf_cstr(&out),
                     "{\"timing\":{\"clock_mhz\":[],\"invalid\":[0],\"power_w\":[],"
                     "\"samples\":[],\"temperature_c\":[],\"throttle\":[]}}");
    cr_expect_str_eq(wf_buf_cstr(&array[WF_ARRAY_power_w]), "{2}");
    cr_expect_str_eq(wf_buf_cstr(&array[WF_ARRAY_temperature_c]), "{nan,4}");
    cr_expect_str_eq(wf_buf_cstr(&array[WF_ARRAY_throttle]), "{1,5}");
    wf_buf_free(&out);
    for (size_t i = 0; i < WF_ARRAY_COUNT; i++) {
        wf_buf_free(&array[i]);
    }
}

Test(result_text, quotes_and_brackets_in_strings_are_text)
{
    static const char text[] =
        "{\"a\":\"}]\\\"\\\\\",\"b\":\"\\\"timing\\\":{\",\"timing\":{\"note\":\"[\\\\\"}}";
    split(text, NULL, NULL, text, "", "");
}

Test(result_text, a_result_without_timing_stays_as_it_is)
{
    split("{}", NULL, NULL, "{}", "", "");
    split("{\"timing\":null}", NULL, NULL, "{\"timing\":null}", "", "");
    split("{\"timing\":[{\"samples\":[1]}]}", NULL, NULL,
          "{\"timing\":[{\"samples\":[1]}]}", "", "");
}

Test(result_text, imported_results_get_the_farms_ids)
{
    split(
        "{\"run\":\"local\",\"task\":{\"case\":{\"id\":\"x\",\"run\":1},\"id\":\"a:b:0\"},"
        "\"timing\":{\"samples\":[5]}}",
        "901", "17",
        "{\"run\":\"17\",\"task\":{\"case\":{\"id\":\"x\",\"run\":1},\"id\":\"901\"},"
        "\"timing\":{\"samples\":[]}}",
        "{5}", "");
}
