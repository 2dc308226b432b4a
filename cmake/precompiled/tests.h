// What most tests include (raddle_precompile).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "standard.h"
