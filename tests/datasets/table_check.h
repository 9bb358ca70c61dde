/* An independent look at a page-table file: what every one must satisfy. */
#ifndef WF_TESTS_DATASETS_TABLE_CHECK_H
#define WF_TESTS_DATASETS_TABLE_CHECK_H

#include "datasets/dataset.h"
#include "datasets/page_table.h"

/* NULL when all is well, else what is wrong (static text). */
const char *table_check(const struct wf_dataset *ds,
                        const struct wf_page_table_stats *stats,
                        enum wf_page_table_mode mode);

#endif
