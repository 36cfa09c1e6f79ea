#include <tilecopy/tilecopy.h>
