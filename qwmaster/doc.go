// Package qwmaster is a master server for QuakeWorld and HexenWorld. It is the master of package
// q2master, which explains how servers are proved, in another form; package quake2 has the
// wire format.
//
//	server                master
//	a\n1\n0\n      ->
//	               <-     status, from a random port
//	n STATUS       ->     and so on, eight times; then listed, for 15 minutes
//
// A heartbeat has no content, and is shorter than the question: this takes from the allowance
// of its address. QuakeWorld's port is 27000. HexenWorld has 26900, where packets are coded as
// Zandronum's are; what is sent there is short and marked as not coded. The port
// tells the two forms apart, and in a status its bytes do.
//
// Programs that relay games, QTV and qwfwd, report as servers do. They are in the list of
// QuakeWorld, as browsers expect them there, and on the pages under their own names.
//
// Long lists take several packets, of which some browsers read the first alone: servers with
// players come first.
package qwmaster
