/* Fuzzes the execution of instruction streams: a real code object whose body is
 * overwritten, loaded, bound and run with every check and counter on. Whatever the
 * words are, the launch ends, with or without a fault, and the process lives.
 *
 * Input: a byte of options, then 8 bytes an instruction. Where the first of them is odd
 * the 8 bytes are code as they are; else the second names an operation, the rest fill
 * the fields of its encoding, so that most streams get past the decoder. */
#include "core/buf.h"
#include "core/file.h"
#include "core/json.h"
#include "emulator/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_DWORDS  256u
#define NOP          0xbf800000u
#define BUDGET       2000u
#define BUFFER_BYTES 4096u
/* Address ranges of freed allocations are kept back; a new space now and then. */
#define RUNS_A_SPACE 20000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* A run frees about a megabyte; used again at once it costs no page faults. */
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=8:allocator_release_to_os_interval_ms=-1";
}

/* Fixed bits of the first word of an encoding, and where its opcode goes. */
struct shape {
    uint32_t prefix;
    unsigned shift, bits;
};

static const struct shape shapes[] = {
    [EM_SOP2] = { 0x80000000u, 23, 7 },    [EM_SOPK] = { 0xb0000000u, 23, 5 },
    [EM_SOP1] = { 0xbe800000u, 8, 8 },     [EM_SOPC] = { 0xbf000000u, 16, 7 },
    [EM_SOPP] = { 0xbf800000u, 16, 7 },    [EM_SMEM] = { 0xc0000000u, 18, 8 },
    [EM_VOP1] = { 0x7e000000u, 9, 8 },     [EM_VOP2] = { 0x00000000u, 25, 6 },
    [EM_VOPC] = { 0x7c000000u, 17, 8 },    [EM_VOP3] = { 0xd0000000u, 16, 10 },
    [EM_VOP3P] = { 0xd3800000u, 16, 7 },   [EM_DS] = { 0xd8000000u, 17, 8 },
    [EM_FLAT] = { 0xdc000000u, 18, 7 },    [EM_GLOBAL] = { 0xdc008000u, 18, 7 },
    [EM_SCRATCH] = { 0xdc004000u, 18, 7 }, [EM_MUBUF] = { 0xe0000000u, 18, 7 },
    [EM_MTBUF] = { 0xe8000000u, 15, 4 },
};

struct row {
    uint16_t op;
    uint8_t encoding;
};

struct fuzz {
    uint8_t *object; /* the template */
    size_t bytes, room;
    struct row *row;
    size_t rows;
    struct em_space *space;
    uint64_t buffer[2];
    unsigned runs;
};

static void need(bool good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "fuzz_stream: %s\n", what);
        abort();
    }
}

static void list_rows(struct fuzz *f)
{
    size_t encodings = sizeof(shapes) / sizeof(shapes[0]);
    f->row = wf_calloc(EM_OPCODES * encodings, sizeof(*f->row));
    need(f->row != NULL, "no memory");
    for (unsigned op = 0; op < EM_OPCODES; op++) {
        for (size_t e = 0; e < encodings; e++) {
            if (em_number((enum em_opcode)op, (enum em_encoding)e) >= 0) {
                f->row[f->rows++] = (struct row){ (uint16_t)op, (uint8_t)e };
            }
        }
    }
}

static void find_room(struct fuzz *f)
{
    unsigned found = 0;
    for (size_t i = 0; i + 4 <= f->bytes; i += 4) {
        uint32_t word;
        memcpy(&word, f->object + i, sizeof(word));
        found = word == NOP ? found + 1 : 0;
        if (found == ROOM_DWORDS) {
            f->room = i + 4 - 4 * (size_t)ROOM_DWORDS;
            return;
        }
    }
    need(false, "the template has no room");
}

static struct fuzz *start(void)
{
    static struct fuzz f;
    struct wf_buf file = WF_BUF_INIT;
    if (!f.object) {
        need(wf_file_read(WF_STREAM_OBJECT, 1 << 20, &file, NULL) == WF_OK,
             "cannot read the template " WF_STREAM_OBJECT);
        f.bytes = file.len;
        f.object = (uint8_t *)file.data;
        find_room(&f);
        list_rows(&f);
    }
    if (f.runs++ % RUNS_A_SPACE == 0) {
        em_space_destroy(f.space);
        need(em_space_create(&f.space, NULL) == WF_OK, "no address space");
        for (unsigned i = 0; i < 2; i++) {
            need(em_space_alloc(f.space, 0, EM_MEMORY_DEVICE, BUFFER_BYTES,
                                &f.buffer[i], NULL) == WF_OK,
                 "no buffer");
        }
    }
    return &f;
}

/* One instruction of the input as two words. */
static void make_words(const struct fuzz *f, const uint8_t *in, uint32_t word[2])
{
    memcpy(word, in, 2 * sizeof(*word));
    if (in[0] & 1) {
        return;
    }
    const struct row *r = &f->row[(in[1] | (size_t)in[0] << 7) % f->rows];
    const struct shape *s = &shapes[r->encoding];
    uint32_t number =
        (uint32_t)em_number((enum em_opcode)r->op, (enum em_encoding)r->encoding);
    uint32_t field = ((1u << s->bits) - 1) << s->shift;
    uint32_t fixed = 0xfc000000u | (s->prefix & 0x03fff000u);
    if (r->encoding == EM_VOP2) {
        fixed = 0x80000000u;
    }
    /* What neither the prefix nor the number claims is the input's. */
    uint32_t operands = (uint32_t)in[2] | (uint32_t)in[3] << 8 | (uint32_t)in[7] << 16;
    word[0] = s->prefix | (number << s->shift) | (operands & ~field & ~fixed);
}

static void run(struct fuzz *f, const struct em_image *image, uint8_t options)
{
    struct em_report report;
    struct wf_json *json = NULL;
    uint64_t arguments[2] = { f->buffer[0], f->buffer[1] };
    struct em_launch launch = {
        .space = f->space,
        .image = image,
        .kernel = em_image_find(image, "stream"),
        .grid = { 1, 1, 1 },
        .block = { options & 1 ? 128 : 64, 1, 1 },
        .arguments = arguments,
        .argument_bytes = sizeof(arguments),
        .options = { .check = (options & 2) == 0,
                     .count = (options & 4) == 0,
                     .exact = (options & 8) != 0,
                     .threads = 1,
                     .budget = BUDGET },
    };
    if (em_launch_run(&launch, &report, NULL) == WF_OK) {
        need(em_report_json(&report, &launch, &json, NULL) == WF_OK, "no report");
        wf_json_free(json);
        em_report_fini(&report);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz *f = start();
    struct em_image *image = NULL;
    if (size < 9) {
        return 0;
    }
    uint8_t *object = wf_calloc(f->bytes, 1);
    need(object != NULL, "no memory");
    memcpy(object, f->object, f->bytes);
    for (size_t i = 0; i < ROOM_DWORDS / 2 && 9 + 8 * i <= size; i++) {
        uint32_t word[2];
        make_words(f, data + 1 + 8 * i, word);
        memcpy(object + f->room + 8 * i, word, sizeof(word));
    }
    need(em_image_load(f->space, 0, object, f->bytes, "stream", &image, NULL) == WF_OK,
         "the template does not load");
    run(f, image, data[0]);
    em_image_destroy(image);
    free(object);
    return 0;
}
