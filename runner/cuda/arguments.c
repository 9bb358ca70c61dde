/* HIP hands over packed arguments by a list of markers and values. CUDA has the same
 * list with another end marker, but its buffer begins where the parameters begin in the
 * constant bank (0x210 on sm_90): a parameter aligned to 64 bytes that comes first, a
 * tensor map, lies 48 bytes behind that, and all others with it. Of such a kernel each
 * argument's address is handed over instead; the driver says where each lies. */
#include "runner/cuda/arguments.h"

#include "runner/cuda/context.h"

/* At most CUDA_MAX_EXTRA entries. */
static hipError_t translate(void **extra, struct cuda_arguments *ret)
{
    for (size_t i = 0; i + 1 < CUDA_MAX_EXTRA; i += 2) {
        if (extra[i] == HIP_LAUNCH_PARAM_END || extra[i] == NULL) {
            ret->list[i] = CU_PARAM_END;
            return hipSuccess;
        }
        if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
            ret->list[i] = CU_PARAM_BUFFER_POINTER;
        } else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
            ret->list[i] = CU_PARAM_BUFFER_SIZE;
        } else {
            break;
        }
        ret->list[i + 1] = extra[i + 1];
    }
    return cuda_fail(hipErrorInvalidValue,
                     "launch: `extra` holds an unknown marker or has no end marker");
}

static void *value_of(void *const *list, const void *marker)
{
    for (size_t i = 0; i + 1 < CUDA_MAX_EXTRA && list[i] != CU_PARAM_END; i += 2) {
        if (list[i] == marker) {
            return list[i + 1];
        }
    }
    return NULL;
}

/* Where the kernel's first parameter begins; 0 where it has none or the driver (before
 * CUDA 12.4) does not say: it makes no tensor maps then (extra.c). */
static size_t first_offset(cu_function function)
{
    size_t offset = 0;
    size_t bytes = 0;
    if (cuda_driver()->func_param_info == NULL ||
        cuda_driver()->func_param_info(function, 0, &offset, &bytes) != CU_SUCCESS) {
        return 0;
    }
    return offset;
}

static hipError_t address_each(cu_function function,
                               size_t first,
                               struct cuda_arguments *ret)
{
    unsigned char *buffer = value_of(ret->list, CU_PARAM_BUFFER_POINTER);
    const size_t *size = value_of(ret->list, CU_PARAM_BUFFER_SIZE);
    size_t end = 0;
    if (buffer == NULL || size == NULL) {
        return cuda_fail(hipErrorInvalidValue, "launch: `extra` has no buffer or size");
    }
    for (size_t i = 0; i < CUDA_MAX_PARAMETERS; i++) {
        size_t offset = 0;
        size_t bytes = 0;
        if (cuda_driver()->func_param_info(function, i, &offset, &bytes) !=
            CU_SUCCESS) {
            break; /* there are i */
        }
        if (offset < first || offset - first + bytes > *size) {
            end = SIZE_MAX;
            break;
        }
        ret->address[i] = buffer + (offset - first);
        end = offset - first + bytes > end ? offset - first + bytes : end;
    }
    if (end != *size) {
        return cuda_fail(hipErrorInvalidValue,
                         "launch: %zu bytes of arguments are not the kernel's "
                         "parameters, which begin at %zu",
                         *size, first);
    }
    ret->params = ret->address;
    ret->extra = NULL;
    return hipSuccess;
}

hipError_t cuda_arguments(cu_function function,
                          void **extra,
                          struct cuda_arguments *ret)
{
    hipError_t error = translate(extra, ret);
    if (error != hipSuccess) {
        return error;
    }
    ret->extra = ret->list;
    size_t first = first_offset(function);
    return first == 0 ? hipSuccess : address_each(function, first, ret);
}
