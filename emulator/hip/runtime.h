/* What the files of hip/ share: the one runtime of the process. */
#ifndef WF_EMULATOR_HIP_RUNTIME_H
#define WF_EMULATOR_HIP_RUNTIME_H

#include "emulator/exec/device.h"
#include "emulator/hip/api.h"
#include "emulator/launch/launch.h"

#include <pthread.h>

enum {
    EM_MAX_DEVICES = 64,
    EM_L2_BYTES = 4 << 20, /* of an XCC, as HIP tells it */
    EM_CLOCK_KHZ = EM_CLOCK_MHZ * 1000,
    EM_MEMORY_CLOCK_KHZ = 1300000
};
#define EM_MEMORY_BYTES (UINT64_C(192) << 30)
#define EM_LLC_BYTES    (UINT64_C(256) << 20)
#define EM_DEVICE_NAME  "AMD Instinct MI300X (emulated)"
#define EM_ARCH         "gfx942:sramecc+:xnack-"
#define EM_PCI_DOMAIN   0xffff /* none of the machine's */

struct em_module;

struct em_hip_device {
    hipError_t pending; /* a launch's fault that no call has returned yet */
    char *report;       /* JSON of the last launch; NULL before the first */
    double clock_ms;    /* of the model: what was executed so far */
    bool peer[EM_MAX_DEVICES];
};

struct em_hip {
    pthread_mutex_t lock;    /* of all below but `running` */
    pthread_mutex_t running; /* held by a launch: they come one after the other */
    struct em_space *space;
    int devices;
    struct em_options options;
    const char *report_path; /* NULL: standard error */
    bool host_takes_reports; /* a host of ours asked for wf_rt_info */
    bool old_generation;     /* loaded as libamdhip64.so.5 */
    struct em_hip_device device[EM_MAX_DEVICES];
};

/* --- runtime.c --- */
/* Starts it at the first call; hipErrorNoDevice, after words on standard error, where
 * it cannot (or its variables are nonsense). */
hipError_t em_hip_ready(struct em_hip **ret);
/* As above, and that the number is one of its devices. */
hipError_t em_hip_device_ready(int device, struct em_hip **ret);
/* Remembers a failure as the thread's last error; returns it. */
void em_hip_keep_error(hipError_t code);
static inline hipError_t em_hip_fail(hipError_t code)
{
    em_hip_keep_error(code);
    return code;
}
/* As above with words: on standard error, or for a host of ours with hipGetErrorString.
 */
__attribute__((format(printf, 2, 3))) hipError_t em_hip_fail_words(hipError_t code,
                                                                   const char *format,
                                                                   ...);
const char *em_hip_words(hipError_t code); /* the thread's, or NULL */
/* hipErrorOutOfMemory, hipErrorInvalidValue, ... for a status; says its text. */
hipError_t em_hip_fail_status(enum wf_status st,
                              hipError_t otherwise,
                              const struct wf_error *err);
int em_hip_current(void); /* the thread's device */
void em_hip_set_current(int device);
hipError_t em_hip_last(bool clear);
/* The current device's fault, which it forgets; hipSuccess where there is none. */
hipError_t em_hip_finish(struct em_hip *hip, int device);
void em_hip_advance(struct em_hip *hip, int device, double ms); /* the model's clock */

/* --- options.c --- */
/* One option by its name in wf_rt_set_option. */
enum wf_status em_hip_set_option(struct em_options *options,
                                 const char *name,
                                 const char *value,
                                 struct wf_error *err);
/* WAVEFARM_EMULATOR_... */
enum wf_status em_hip_read_environment(struct em_hip *hip, struct wf_error *err);

/* --- stream.c --- */
/* Whether it is a live stream; its device (of the null stream the current one). */
hipError_t em_hip_stream(hipStream_t stream, int *ret_device);
hipError_t em_hip_event_stamp(hipEvent_t event, int device);

/* --- module.c --- */
/* A kernel of a loaded image. */
struct ihipModuleSymbol_t {
    const struct em_image *image;
    const struct em_kernel *kernel;
    int device;
    struct ihipModuleSymbol_t *next;
};
/* NULL: no such function is live. */
const struct ihipModuleSymbol_t *em_hip_function(struct em_hip *hip, hipFunction_t f);
/* Loads anything that em_bundle_choose takes, on that device. */
hipError_t em_hip_load(struct em_hip *hip,
                       int device,
                       const void *image,
                       size_t bytes, /* 0: by its own headers */
                       const char *source,
                       hipModule_t *ret);
hipError_t em_hip_module_function(struct em_hip *hip,
                                  hipModule_t module,
                                  const char *name,
                                  hipFunction_t *ret);
const struct em_image *em_hip_module_image(hipModule_t module);

/* --- registered.c --- */
/* The kernel behind a host function, or the variable behind a host variable, on a
 * device; loads the fat binary there at first. */
hipError_t em_hip_registered_function(struct em_hip *hip,
                                      const void *host,
                                      int device,
                                      hipFunction_t *ret);
hipError_t em_hip_registered_variable(struct em_hip *hip,
                                      const void *host,
                                      int device,
                                      uint64_t *ret_address,
                                      uint64_t *ret_bytes);

/* --- launch.c --- */
struct em_hip_call {
    struct hip_dim3 grid, block;
    size_t shared_bytes;
    hipStream_t stream;
    void **params; /* a pointer each, or NULL */
    void **extra;  /* or NULL */
    bool cooperative;
};
hipError_t em_hip_launch(struct em_hip *hip,
                         const struct ihipModuleSymbol_t *f,
                         const struct em_hip_call *call);

/* --- report.c --- */
/* Keeps the launch's report for wf_rt_launch_report, tells people of a fault. */
void em_hip_report(struct em_hip *hip,
                   const struct em_launch *launch,
                   const struct em_report *report);

/* --- occupancy.c --- */
int em_hip_blocks_per_cu(const struct em_kernel *k,
                         unsigned threads,
                         size_t shared_bytes);

#endif
