#pragma once
// What write_file_atomic and others leave when they are killed: NAME.new.PROCESS.NUMBER, a file or a folder.

#include <filesystem>

namespace kw {

// Those in the folder itself whose processes do not live any more.
void remove_unfinished_files(const std::filesystem::path& folder);

}  // namespace kw
