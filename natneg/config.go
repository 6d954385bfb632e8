package natneg

// Config is section natneg of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Games expect port 27901.
	Listen string `key:"listen" default:":27901" listen:"udp 27901"`
	// Further UDP addresses that answer the same, at most 256. With two or three
	// addresses on this machine, the kind of a player's router is recognised
	// better. A machine with several public addresses that listens on all of them
	// needs none. With qr2.probe hosts are asked from these addresses too, which
	// shows whether they let in strangers. Unused while natneg.listen is empty.
	ExtraListen []string `key:"extra_listen" as:"extralisten"` // further addresses; none of them is empty
	// Names of the nodes of a cluster that the host names natneg1, natneg2 and
	// natneg3 lead to, in this order. With three of them, the kind of a player's
	// router is recognised better. None: the names lead to any node.
	Nodes []string `key:"nodes" as:"text" live:"true"`
	// Negotiations open at a time, {range}. Beyond it, the oldest one without a
	// second player is dropped.
	MaxOpen int `key:"max_open" default:"100000" range:"1 to 10000000" live:"true"`
	// Negotiations open at a time that one address began, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"512" range:"1 to 10000000" live:"true"`
	// Packets per second accepted from one address, {range}.
	Rate int `key:"rate" default:"40" range:"1 to 1000000" live:"true"`
	// Packets that one address may send at once before the rate applies, {range}.
	// A household of 16 players sends 64 at once.
	Burst int `key:"burst" default:"200" range:"1 to 1000000" live:"true"`
	// The test whether strangers can reach a player needs another address.
	// Without one it is not answered, and the player's game waits 10 seconds
	// for it. true: it is answered nevertheless, and players behind a strict
	// router may be taken for reachable. true or false.
	AssumeUnrestricted bool `key:"assume_unrestricted" default:"false" live:"true"`
}
