// Package foomaster is a master server of Foo, a game that does not exist: the example of
// docs/contributing/new-protocol.md. All packets are text.
//
//	server                      master
//	foo beat ............  ->
//	                       <-   foo ask CHALLENGE
//	foo info CHALLENGE     ->   listed, for 15 minutes
//	and a line for each rule, key=value
//
// A heartbeat is filled up to the length of the question. A browser sends "foo list", and gets
// "foo servers", the newest version of the game, and a line for each server. The servers answer
// queries of Quake III's protocol. It is no model of a whole master: idmaster is one.
package foomaster
