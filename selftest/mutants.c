#include "selftest/mutants.h"
