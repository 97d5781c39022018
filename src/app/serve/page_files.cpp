#include "app/serve/page_files.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/installed_files.h"

namespace kw {
namespace {

constexpr std::size_t max_page_file_bytes = 4u << 20;

constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri "
    "'none'; form-action 'none'; frame-ancestors 'none'";

std::string content_type(const std::string& name) {
  const std::string ending = std::filesystem::path(name).extension();
  if (ending == ".html") return "text/html; charset=utf-8";
  if (ending == ".css") return "text/css; charset=utf-8";
  if (ending == ".js" || ending == ".mjs") return "text/javascript; charset=utf-8";
  if (ending == ".svg") return "image/svg+xml";
  if (ending == ".png") return "image/png";
  return "";
}

}  // namespace

Result<PageFiles> PageFiles::load() {
  KW_TRY(const auto folder, find_installed({"web", "KERNELWRIGHT_WEB", "index.html", "the web page"}));
  PageFiles page;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).generic_string();
    if (!entry.is_regular_file() || content_type(name).empty() || name.starts_with("tests/")) continue;
    KW_TRY(page.files_[name], read_file(entry.path(), max_page_file_bytes));
  }
  KW_TRY(page.openapi_, read_file(folder / "openapi.json", max_page_file_bytes));
  return page;
}

HttpResponse PageFiles::file(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) return http_error(404, "there is no such page");
  return {200,
          content_type(name),
          found->second,
          {{"Content-Security-Policy", std::string(policy)},
           {"Referrer-Policy", "no-referrer"},
           {"Cross-Origin-Opener-Policy", "same-origin"},
           {"Cache-Control", "no-cache"}}};
}

}  // namespace kw
