// The commands. Each prints to stdout, returns its exit status and raises the errors of the
// library.
#pragma once

#include "request.h"

namespace tilecopy::tool {

/// Exit statuses; docs and --help list them.
enum Status : int { good = 0, wrong_result = 1, bad_input = 2, machine_lacks = 3, our_fault = 70 };

int run_command(const Request& request);
int bench_command(const Request& request);

int explain_command(const Request& request);
int source_command(const Request& request);
int ir_command(const Request& request);
int emulate_command(const Request& request);

int targets_command(const Request& request);
int cache_command(const Request& request);
int doctor_command(const Request& request);

}  // namespace tilecopy::tool
