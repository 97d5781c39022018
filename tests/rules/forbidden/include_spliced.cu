// expect: include
#inc\
lude "/proc/self/environ"
