/* What was built: the project's version and the commit of its sources. The text is made
 * in every build (cmake/version.cmake) and lies in a library of its own, wf_version, so
 * that a commit does not make what does not tell it anew. */
#ifndef WF_CORE_VERSION_H
#define WF_CORE_VERSION_H

extern const char wf_version[]; /* "0.1.0 (0123456789ab)"; "0.1.0 (unknown)" */

#endif
