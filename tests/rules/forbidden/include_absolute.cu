// expect: include
__constant__ char secret[] = {
#include "/etc/passwd"
};
