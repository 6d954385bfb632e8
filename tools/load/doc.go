// Package main is the command load. It plays all kinds of clients of
// respawnd at once, to measure their costs and their growth over time. It is a
// module of its own and not part of the program.
//
// It starts the built respawnd in an empty folder on free ports of the loopback
// address, speaks to it from many addresses in 127.0.0.0/8, ends by itself, and
// leaves nothing behind. It reads /proc, so it runs on Linux; it needs no root.
// It is run in its own folder, from where it finds the source of respawnd.
//
//	go run . soak -for 1h   a mixed load with clients that come, crash and go: memory,
//	                        goroutines, file descriptors and errors over time. The exit
//	                        code is 1 if something grows or fails
//	go run . table          cost of each operation: latency in a closed and an open
//	                        loop, losses, processor time and memory of the daemon, beside
//	                        bare servers and the bare cipher in the same run
//	go run . relay          500 relayed pairs, and heartbeats with and without them
//	go run . limit          costs of a full daemon, each figure with its goal: lists, pages,
//	                        memory and starts at 50,000 servers, 20,000 players and a
//	                        million accounts. It takes ten minutes and 2 GB of disk;
//	                        -only measures a part, -scale 0.1 a tenth of everything
//	go run . scale          processor time and memory from 100 to 200,000 servers and 20,000
//	                        players at their usual pace, as a table
//	go run . federation     cost of reading other masters
//	go run . cluster        what operations cost a lone node and clusters of one to three nodes:
//	                        processor time, statements, bytes on the bus; messages to other
//	                        nodes, and when a new server is on them. It starts a
//	                        PostgreSQL server of its own, whose programs it needs
//
// It is not for measuring games or networks, and not for use against daemons of
// others.
package main
