#pragma once
// Models and adapters for the commands that compute with them.

#include <string>
#include <vector>

#include "base/result.h"
#include "model/adapter.h"
#include "model/model_files.h"

namespace kw::cli {

// MODEL on the command line. NF4 folders are refused with the command that converts them.
Result<ModelFiles> open_model(const std::string& name_or_path);
// A large model shows how far it is.
Result<Parameters> load_with_progress(const ModelFiles& files);
// None for an empty name.
Result<std::vector<Adapter>> load_adapters(const std::string& folder, const ModelDescription& description);

}  // namespace kw::cli
