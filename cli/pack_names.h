/* What a pack refers to outside itself: ops and the names of its expressions. The packs
 * folder cannot know them; a misspelt one would be met only when a case runs. */
#ifndef WF_CLI_PACK_NAMES_H
#define WF_CLI_PACK_NAMES_H

#include "packs/pack.h"

/* Every kernel's op is one of ours, and every name in its expressions is a knob, a
 * parameter of the op or one about the device. EINVAL names kernel, place and nearest
 * name. */
enum wf_status wf_pack_check_names(const struct wf_pack *pack, struct wf_error *err);

#endif
