// What a launch of a kernel is made of, for calls that launch now and for nodes of graphs.
#pragma once

#include <vector>

#include "driver/launch_attributes.h"
#include "driver/objects.h"
#include "driver/status.h"

namespace raddle::driver {

/// The arguments that a call gives, in either of its two forms. CUDA_ERROR_INVALID_VALUE: both, none, or too
/// little
Status read_arguments(void** parameters, void** extra, const KernelInfo& info,
                      std::vector<Argument>& arguments);

/// A launch as a configuration with attributes describes it, without the stream.
/// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_CLUSTER_SIZE
Status shape_launch(Function& function, const CUlaunchConfig& given, const LaunchAttributes& wanted,
                    LaunchConfig& config);

/// Of a launch that was refused; says on stderr what is not there yet.
Status result_of_launch(Context& context, const Error& error);

}  // namespace raddle::driver
