/* Marks of devices whose clock is wrong: how long they last, what becomes of damaged
 * ones, and that nothing in the cache folder makes anybody wait. */
#include "runner/calibration.h"

#include "core/clock.h"
#include "core/file.h"
#include "runner/cold_probe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static char why[400];
static struct wf_device_list devices;

static void make_root(void)
{
    (void)snprintf(root, sizeof(root), "/tmp/wf-calibration-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    (void)setenv("WAVEFARM_CACHE", root, 1);
    (void)setenv("WAVEFARM_LOCK_DIR", root, 1);
    cr_assert_eq(wf_devices_discover("host", &devices, NULL), WF_OK);
    cr_assert_gt(devices.count, 0);
}

static void remove_root(void)
{
    wf_device_list_free(&devices);
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(calibration, .init = make_root, .fini = remove_root, .timeout = 60);

static const struct wf_device *host(void)
{
    return &devices.device[0];
}

static char *mark_path(void)
{
    char *path = wf_device_cache_file(host(), "unusable", "", NULL);
    cr_assert_not_null(path);
    return path;
}

static void put(const char *text, size_t n)
{
    char *path = mark_path();
    cr_assert_eq(wf_file_write_atomic(path, text, n, NULL), WF_OK);
    free(path);
}

static void put_mark(int64_t from_now_s, const char *reason)
{
    char text[400];
    (void)snprintf(
        text, sizeof(text),
        "{\"why\":\"%s\",\"when\":\"2026-01-01T00:00:00Z\",\"retry_ns\":%lld}", reason,
        (long long)(wf_realtime_ns() + from_now_s * 1000000000));
    put(text, strlen(text));
}

static enum wf_calibration state(void)
{
    return wf_calibration_state(host(), why, sizeof(why));
}

Test(calibration, mark_lasts_ten_minutes)
{
    cr_assert_eq(state(), WF_CALIBRATION_GOOD);
    cr_assert_str_empty(why);
    cr_assert_eq(wf_calibration_store(host(), false, "too fast", NULL), WF_OK);
    cr_assert_eq(state(), WF_CALIBRATION_FAILED);
    cr_assert(strstr(why, "too fast"), "%s", why);
    put_mark(1, "young");
    cr_assert_eq(state(), WF_CALIBRATION_FAILED);
    put_mark(-1, "old");
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    put_mark(100000, "of a clock that was set back since");
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    cr_assert_eq(wf_calibration_store(host(), true, "", NULL), WF_OK);
    cr_assert_eq(state(), WF_CALIBRATION_GOOD);
}

Test(calibration, damaged_mark_is_due_and_nobody_waits)
{
    static char large[100 * 1024];
    char *path = mark_path();
    put("", 0);
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    put("[1]", 3);
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    put("{\"why\":7}", 9);
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    memset(large, ' ', sizeof(large));
    put(large, sizeof(large));
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(symlink("/dev/zero", path), 0);
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
    free(path);
}

Test(calibration, reason_reaches_no_terminal_with_escapes)
{
    put_mark(60, "\\u001b[2J\\u0007");
    cr_assert_eq(state(), WF_CALIBRATION_FAILED);
    cr_assert_null(strchr(why, 0x1b));
    cr_assert_null(strchr(why, 7));
}

Test(calibration, work_beside_the_spin_is_no_fault_of_the_clock)
{
    cr_assert(wf_calibration_good(5.0e6, 1.0));
    cr_assert(wf_calibration_good(4.6e6, 1.1));
    cr_assert(wf_calibration_good(7.96e6, 1.02)); /* the host saw it too */
    cr_assert(wf_calibration_good(5.4e6, 0.5));
    cr_assert_not(wf_calibration_good(10.0e6, 0.5)); /* events twice as fast */
    cr_assert_not(wf_calibration_good(2.5e6, 2.0));  /* and half as fast */
    cr_assert_not(wf_calibration_good(NAN, 1.0));
    cr_assert_not(wf_calibration_good(8.0e6, NAN));
}

/* A device that was too busy once measures again by itself. */
Test(calibration, due_mark_is_spun_again_and_taken_away)
{
    put_mark(60, "too busy");
    cr_assert(wf_calibration_refuses(host(), NULL, why, sizeof(why)));
    cr_assert(strstr(why, "ten minutes"), "%s", why);
    put_mark(-1, "too busy");
    cr_assert_not(wf_calibration_refuses(host(), NULL, why, sizeof(why)), "%s", why);
    cr_assert_str_empty(why);
    cr_assert_eq(state(), WF_CALIBRATION_GOOD);
}

Test(calibration, spin_that_cannot_run_keeps_the_mark)
{
    (void)setenv("WAVEFARM_PACKS", root, 1);
    put_mark(-1, "too busy");
    cr_assert(wf_calibration_refuses(host(), NULL, why, sizeof(why)));
    cr_assert(strstr(why, "could not be measured again"), "%s", why);
    cr_assert_eq(state(), WF_CALIBRATION_DUE);
}

static void keeps_for(enum cold_verdict verdict, int64_t seconds)
{
    struct cold_proof proof = { .verdict = verdict };
    struct wf_json *json = NULL;
    char *text = NULL;
    char *path = wf_cold_probe_file(host(), NULL);
    int64_t until_ns = 0;
    (void)snprintf(proof.text, sizeof(proof.text), "kept");
    cr_assert_eq(wf_cold_probe_store(host(), &proof, NULL), WF_OK);
    cr_assert_eq(wf_cold_probe_text(host(), NULL, &text, NULL), WF_OK);
    cr_assert(strstr(text, "kept"), "%s", text); /* no probe was run */
    cr_assert_not_null(path);
    cr_assert_eq(wf_device_cache_read(path, &json, NULL), WF_OK);
    cr_assert_eq(wf_json_get_i64(json, "until_ns", 0, INT64_MAX, &until_ns, NULL),
                 WF_OK);
    const double left_s = (double)(until_ns - wf_realtime_ns()) / 1e9;
    cr_assert(left_s > (double)seconds - 60 && left_s <= (double)seconds, "%g", left_s);
    wf_json_free(json);
    free(path);
    free(text);
}

Test(calibration, doubt_about_cold_does_not_last)
{
    keeps_for(COLD_UNKNOWN, 600);
    keeps_for(COLD_NOT_PROVEN, 3600);
    keeps_for(COLD_NO_DIFFERENCE, (int64_t)30 * 24 * 3600);
    keeps_for(COLD_PROVEN, (int64_t)30 * 24 * 3600);
}
