// expect: static-constructor
struct Patch { Patch(); };
static Patch patch;
