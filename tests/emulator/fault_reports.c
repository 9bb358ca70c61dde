/* Prints the reports of some launches as a JSON array: for fault_schema.py. */
#include "core/json.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

struct arguments {
    uint64_t a, b, c;
    uint32_t d;
};

static bool report(struct program *p,
                   const char *kernel,
                   const struct arguments *arguments,
                   struct wf_json *array)
{
    struct program_launch launch = {
        .grid = 2, .block = 128, .dynamic_lds_bytes = 512, .count = true, .threads = 1
    };
    struct em_report r = program_run(p, kernel, &launch, arguments, sizeof(*arguments));
    struct em_launch l = { .space = p->space,
                           .image = p->image,
                           .kernel = em_image_find(p->image, kernel),
                           .grid = { launch.grid, 1, 1 },
                           .block = { launch.block, 1, 1 },
                           .dynamic_lds_bytes = launch.dynamic_lds_bytes,
                           .options = { .check = true, .count = true } };
    struct wf_json *json = NULL;
    struct wf_error err = { .text = "" };
    enum wf_status st = em_report_json(&r, &l, &json, &err);
    st = st == WF_OK ? wf_json_push_take(array, json, &err) : st;
    em_report_fini(&r);
    (void)fputs(err.text, stderr);
    return st == WF_OK;
}

int main(void)
{
    static const char *const kernels[] = { "lds_ordered", "read_before", "lds_race",
                                           "grid_race", "lds_unwritten" };
    struct program p = program_open(FAULT_KERNELS);
    struct arguments arguments = { program_buffer(&p, 1024), program_buffer(&p, 1024),
                                   program_buffer(&p, 1024), 0 };
    struct wf_json *array = wf_json_array();
    struct wf_buf text = WF_BUF_INIT;
    bool good = true;
    struct arguments fill = arguments;
    fill.b = 256; /* elements */
    good = report(&p, "fill", &fill, array);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && good; i++) {
        good = report(&p, kernels[i], &arguments, array);
    }
    good = good && wf_json_write(array, &text, NULL) == WF_OK &&
           puts(wf_buf_cstr(&text)) >= 0;
    wf_buf_free(&text);
    wf_json_free(array);
    program_close(&p);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
