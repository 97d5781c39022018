// expect: include
#define QUOTE(x) #x
#define PATH QUOTE(/etc/shadow)
#include PATH
