#include "selftest/trial.h"
