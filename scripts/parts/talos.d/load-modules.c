/* First program of the initramfs: makes of Debian's kernel what Talos' own is from the start, and becomes Talos' init. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc;
    char line[512];
    FILE *order = fopen("/modules/order", "r");
    while (order && fgets(line, sizeof line, order)) {
        line[strcspn(line, "\n")] = 0;
        int file = open(line, O_RDONLY | O_CLOEXEC);
        if (file < 0 || syscall(SYS_finit_module, file, "", 0) != 0) {
            perror(line);
        }
        close(file);
    }
    if (order) {
        fclose(order);
    }

    /* kubelet does not start without. */
    mkdir("/proc", 0755);
    mount("proc", "/proc", "proc", 0, "");
    int oops = open("/proc/sys/kernel/panic_on_oops", O_WRONLY | O_CLOEXEC);
    if (write(oops, "1", 1) != 1) {
        perror("panic_on_oops");
    }
    close(oops);
    umount("/proc");

    execv("/init.talos", argv);
    perror("/init.talos");
    return 1;
}
