#include "selftest/generate.h"
