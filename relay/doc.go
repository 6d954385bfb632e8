// Package relay passes packets between two players whose routers prevent a direct
// connection.
//
// It negotiates nothing: package natneg finds out that two players cannot connect, opens a
// pair here, and tells each of them a port of ours in place of the other's address. It does not
// read the packets either.
//
// # A pair
//
// A pair has two ports of Config.Ports, one for each player:
//
//	player A --> port A | port B --> player B
//	player A <-- port A | port B <-- player B
//
// A packet of player A that arrives at port A leaves from port B to player B, unchanged, and the
// other way round. The ports are chosen at random.
//
// A player's packets come from one of the addresses that it negotiated from. The port
// is not known in advance, because a router may use another one for each destination:
// the first packet from such an address fixes it. Everything else that comes to the port
// is dropped and never answered, so that a scan finds nothing.
//
// A pair ends when nothing was passed on for Config.Idle, when its players have not both
// come within 20 seconds, after Config.MaxTime, when an address is banned, when the
// relay is switched off, or when it gives way to another one.
//
// # Attacks by strangers
//
// The relay creates no traffic: a packet causes at most one, of the same length. With
// a forged address a stranger would have to negotiate twice with both addresses, and
// guess the port that was sent to the forged one. A packet that seems to come from one of
// our own ports does not fix a player, so that two pairs cannot feed each other. Nor can
// the relays of two daemons: on Linux each drops packets of another one, which it recognizes by the
// time to live (netserve.Forwarding). On other systems such a loop is bounded by the rates of its
// pairs.
//
// The bytes of a pair, of an address and of all pairs are bounded per second, and the
// pairs of an address, of its network of 256 and in all are bounded too. Packets and pairs beyond
// that are dropped or refused, and counted.
//
// A sender of forged packets can have pairs opened. They have a share of their own, because their
// players are not proved (service.RelayPlayer.Proved), and give way to pairs of players who are, and
// to each other while they are not in use.
package relay
