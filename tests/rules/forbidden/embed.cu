// expect: directive
const unsigned char key[] = {
#embed "/etc/hostname"
};
