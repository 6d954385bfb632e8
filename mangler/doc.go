// Package mangler is the NAT helper of Command & Conquer: Generals and Zero Hour, on
// UDP port 4321. It answers each packet with the address and the port from which it
// came, so that a player learns how the router maps a port. Games read the names
// of such helpers in config.txt, see package webservices/gamefiles; with helpers on
// three addresses or more they determine the kind of router, with fewer they
// take it for a simple one.
//
// Requests and answers have 20 bytes, see Packet. The answer has as many as the
// request and goes to its sender, so a forged source gets no more than was sent.
//
// A flag asks for three more answers from the next three ports ("blitz"). Games as
// they were sold never set it; such requests are answered once, with the flag.
package mangler
