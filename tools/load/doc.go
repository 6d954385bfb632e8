// Load plays everybody who uses respawnd at once, to see what that costs and
// whether it lasts. It is a module of its own and no part of the program.
//
// It starts the built respawnd in an empty folder on free ports of the loopback
// address, speaks to it from many addresses in 127.0.0.0/8, ends by itself, and
// leaves nothing behind. It reads /proc, so it runs on Linux; it needs no root.
//
//	go run . soak -for 1h   a mixed load with clients that come, crash and go: memory,
//	                        goroutines, file descriptors and errors over time. The exit
//	                        code is 1 if something grows or fails
//
// It is not for measuring games or networks, and not for use against a daemon of
// somebody else.
package main
