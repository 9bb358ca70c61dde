/* A launch's report as JSON. */
#include "core/json.h"
#include "emulator/launch/launch.h"

enum wf_status em_report_json(const struct em_report *report,
                              const struct em_launch *launch,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_json *root = wf_json_object();
    enum wf_status status =
        wf_json_set_string(root, "schema", "wavefarm.emulator-report/1", err);
    if (status == WF_OK) {
        status = wf_json_set_string(root, "kernel", launch->kernel->name, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_u64(root, "instructions", report->instructions, err);
    }
    if (status != WF_OK) {
        wf_json_free(root);
        return status;
    }
    *ret = root;
    return WF_OK;
}
