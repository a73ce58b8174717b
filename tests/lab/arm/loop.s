// A program that executes a known number of instructions: it reads a number of turns, and the nanoseconds of a sleep
// (fewer than a second), each in eight bytes, from standard input. A turn is 2 instructions, all others are 13, and a
// sleep other than 0 adds 4.
    .globl _start
_start:
    sub sp, sp, #16
    mov x0, #0
    mov x1, sp
    mov x2, #16
    mov x8, #63             // read(2)
    svc #0
    ldr x9, [sp]
    str xzr, [sp]           // seconds, in front of the nanoseconds
turn:
    subs x9, x9, #1
    b.ne turn
    ldr x10, [sp, #8]
    cbz x10, end
    mov x0, sp
    mov x1, #0
    mov x8, #101            // nanosleep(2)
    svc #0
end:
    mov x0, #0
    mov x8, #93             // exit(2)
    svc #0
