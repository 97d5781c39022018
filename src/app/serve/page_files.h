#pragma once
// The web page's files, from the folder web/ of the program, read once. Every answer has a content security policy
// under which a page runs our scripts alone and speaks with this service alone.

#include <map>
#include <string>

#include "app/serve/api_json.h"
#include "base/result.h"

namespace kw {

class PageFiles {
 public:
  // KERNELWRIGHT_WEB, or web/ beside the program or above it.
  static Result<PageFiles> load();

  // "index.html", "js/workbench.js"; 404 for what is not one of the files.
  HttpResponse file(const std::string& name) const;
  const std::string& openapi() const { return openapi_; }

 private:
  std::map<std::string, std::string> files_;
  std::string openapi_;
};

}  // namespace kw
