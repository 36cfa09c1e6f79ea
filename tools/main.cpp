// The command line: CLI11 is met in this file alone, because it is slow to compile. It fills a
// Request, hands it to the command, and turns errors into exit statuses.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <iostream>
#include <new>
#include <system_error>

#include "commands.h"
#include "flags.h"
#include "help.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::tool {
namespace {

// What a command takes besides its name, as bits.
enum Takes : unsigned {
  kernel = 1,      // KERNEL and the flags that shape and compile it
  running = 2,     // the flags of data and running
  outputs = 4,     // --out and --explain
  json_text = 8,   // --json
  stages = 16,     // --stop-after
  an_action = 32,  // ls or clear
  emulating = 64,  // the flags of the emulator
};

struct CommandRow {
  const char* name;
  unsigned takes;
  int (*run)(const Request&);
  const char* summary;
  const char* examples;
};

constexpr std::array commands = {
    CommandRow{"run", kernel | running | outputs, run_command,
               "Compile a kernel, run it, and check the result of a built-in",
               "  tilecopy run copy --shape 1000x1001 --tile 64x48\n"
               "  tilecopy run transpose --in A=x.npy --out B=y.npy --explain\n"
               "  tilecopy run im2col --in img=photo.npy --kernel 3x5 --pad 1x2 --stride 2\n"
               "  tilecopy run mine.tile --set n=4096 --seed 7\n"},
    CommandRow{"explain", kernel | json_text, explain_command,
               "Say how each copy of a kernel moves and why, or what an error code means",
               "  tilecopy explain copy --prefer-instruction tma\n"
               "  tilecopy explain mine.tile --json\n"
               "  tilecopy explain E0101\n"},
    CommandRow{"source", kernel, source_command, "Print the source generated for a kernel",
               "  tilecopy source transpose --shape 100x200 --dtype float32\n"},
    CommandRow{"ir", kernel | stages, ir_command, "Print a kernel in the text form",
               "  tilecopy ir im2col --shape 1x14x14x8 --pad 1\n"
               "  tilecopy ir copy --stop-after lower\n"},
    CommandRow{"emulate", kernel | running | emulating | json_text, emulate_command,
               "Run a GPU kernel without a GPU, and find races, hangs and bad accesses",
               "  tilecopy emulate copy --shape 256x256 --prefer-instruction tma\n"
               "  tilecopy emulate mine.tile --schedules 100 --seed 7 --json\n"
               "  tilecopy emulate mine.tile --ignore unwritten --trace mine.json\n"},
    CommandRow{"bench", kernel | running | json_text, bench_command,
               "Measure a kernel beside memcpy of the same bytes",
               "  tilecopy bench copy --cpu-threads 4\n"
               "  tilecopy bench im2col --shape 32x56x56x64 --pad 1 --json\n"},
    CommandRow{"targets", 0, targets_command, "List the targets and whether they can be used here",
               ""},
    CommandRow{"doctor", json_text, doctor_command,
               "Check what this machine has: compiler, cache, environment", ""},
    CommandRow{"cache", an_action, cache_command, "List or clear the cache of compiled kernels",
               ""},
};

// CLI11 writes into the request, so both live until the command runs.
void add_flags(CLI::App& command, FlagGroup group, Request& request) {
  for (const FlagRow& row : flag_table()) {
    if (row.group != group) continue;
    command.add_option(row.name, request.*row.member, row.help)
        ->type_name(row.value)
        ->group(title(group));
  }
}

void add_list(CLI::App& command, const char* name, const char* value, const char* help,
              std::vector<std::string>& list) {
  command.add_option(name, list, help)
      ->type_name(value)
      ->allow_extra_args(false)
      ->group(title(FlagGroup::data));
}

void add_kernel(CLI::App& command, const CommandRow& row, Request& request) {
  command.add_option("KERNEL", request.kernel, "copy, transpose, im2col or a kernel file")
      ->required()
      ->type_name("");
  add_flags(command, FlagGroup::built_in, request);
  command.add_flag("--disable-tma", request.disable_tma, "hint: do not use TMA")
      ->group(title(FlagGroup::built_in));
  add_flags(command, FlagGroup::im2col, request);
  add_flags(command, FlagGroup::compile, request);
  command.add_flag("--no-cache", request.no_cache, "compile even what the kernel cache has")
      ->group(title(FlagGroup::compile));
  add_list(command, "--in", "NAME=FILE", "a tensor's data from a .npy file; repeat for more",
           request.in);
  add_list(command, "--set", "NAME=VALUE",
           "the value of a symbol or scalar of a kernel file; repeat for more", request.set);
  command.footer(kernel_footer(row.examples));
}

void add_running(CLI::App& command, Request& request) {
  add_flags(command, FlagGroup::data, request);
  command
      .add_flag("--no-check", request.no_check,
                "do not compare the result of a built-in with the reference")
      ->group(title(FlagGroup::data));
}

void add_command(CLI::App& app, const CommandRow& row, Request& request) {
  CLI::App& command = *app.add_subcommand(row.name, row.summary);
  command.footer(status_text());
  if (row.takes & kernel) add_kernel(command, row, request);
  if (row.takes & running) add_running(command, request);
  if (row.takes & emulating) add_flags(command, FlagGroup::emulating, request);
  if (row.takes & outputs) {
    add_list(command, "--out", "NAME=FILE", "write a tensor to a .npy file; repeat for more",
             request.out);
    command.add_flag("--explain", request.explain, "also say how each copy moved and why");
  }
  if (row.takes & json_text) command.add_flag("--json", request.json, "print JSON");
  if (row.takes & stages) {
    command
        .add_option("--stop-after", request.stop_after,
                    "language, infer_layouts or lower (default language)")
        ->type_name("STAGE");
  }
  if (row.takes & an_action) {
    command.add_option("ACTION", request.action, "ls or clear")->required()->type_name("");
  }
}

// What is wrong, in the words of CLI11 unless they name no culprit, and where to read on.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string help = "tilecopy --help", fault = error.what();
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!chosen.empty()) {
    help = "tilecopy " + chosen.front()->get_name() + " --help";
    const std::vector<std::string> unknown = chosen.front()->remaining();
    if (!unknown.empty()) {
      const bool flag = unknown.front().starts_with('-');
      fault = (flag ? "unknown flag " : "unexpected word ") + unknown.front();
    }
  } else if (argc > 1) {
    fault = "unknown command " + std::string(argv[1]);
  } else {
    fault = "a command is needed";
  }
  std::cerr << "error: " << fault << "\n   = help: see `" << help << "`\n";
  return bad_input;
}

int run(int argc, char** argv) {
  Request request;
  CLI::App app("Runs, explains and measures GPU kernels made of tile copies.", "tilecopy");
  app.set_version_flag("--version", "tilecopy " + std::string(version()), "Print the version");
  app.require_subcommand(1);
  app.footer(main_footer());
  for (const CommandRow& row : commands) add_command(app, row, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : usage_error(app, error, argc, argv);
  }
  const std::string chosen = app.get_subcommands().front()->get_name();
  for (const CommandRow& row : commands) {
    if (row.name == chosen) return row.run(request);
  }
  return our_fault;
}

// Errors of the library already say everything; others get the same look.
int report(const char* text, int status) {
  std::fflush(stdout);
  std::cerr << text << std::endl;
  return status;
}

int guarded_run(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UserError& error) {
    return report(error.what(), bad_input);
  } catch (const ToolError& error) {
    return report(error.what(), machine_lacks);
  } catch (const InternalError& error) {
    return report(error.what(), our_fault);
  } catch (const std::bad_alloc&) {
    return report("error: there is not enough memory\n   = help: use smaller tensors",
                  machine_lacks);
  } catch (const std::system_error& error) {
    return report((std::string("error: ") + error.what()).c_str(), machine_lacks);
  } catch (const std::exception& error) {
    return report((std::string("error: ") + error.what() +
                   "\n   = help: this is a bug in tilecopy: please report it with this text")
                      .c_str(),
                  our_fault);
  }
}

}  // namespace
}  // namespace tilecopy::tool

int main(int argc, char** argv) {
  using namespace tilecopy::tool;
  const int status = guarded_run(argc, argv);
  std::cout.flush();
  // A full disk shows only when the last of the output is written.
  if (std::fflush(stdout) != 0 || !std::cout) {
    return report("error: the output cannot be written", machine_lacks);
  }
  return status;
}
