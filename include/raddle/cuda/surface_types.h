// Surface objects and what they do at the edges.
// A part of CUDA 13.0's runtime API as its documentation describes it, in the layout that nvcc's programs
// have.
#pragma once

enum cudaSurfaceBoundaryMode {
  cudaBoundaryModeZero = 0,
  cudaBoundaryModeClamp = 1,
  cudaBoundaryModeTrap = 2
};

enum cudaSurfaceFormatMode { cudaFormatModeForced = 0, cudaFormatModeAuto = 1 };

typedef unsigned long long cudaSurfaceObject_t;
