// Busy time of all cores (/proc/stat, steal included) less our own (getrusage).
#include "machine_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace bench {
namespace {

double busy_seconds() {
  std::FILE* file = std::fopen("/proc/stat", "r");
  if (!file) return 0;
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  const int fields = std::fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
                                 &idle, &wait, &irq, &soft, &steal);
  std::fclose(file);
  if (fields != 8) return 0;
  return static_cast<double>(user + nice + system + irq + soft + steal) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

MachineLoad::MachineLoad() : busy_(busy_seconds()), own_(own_seconds()), started_(now()) {}

double MachineLoad::other_cores() const {
  const double elapsed = std::max(1e-3, now() - started_);
  return std::max(0.0, (busy_seconds() - busy_ - (own_seconds() - own_)) / elapsed);
}

}  // namespace bench
