package games

// Services that packages above this one declare, for tests.
var (
	_ = Declare(Kind{Name: "zanmaster", Words: "the Zandronum master"})
	_ = Declare(Kind{Name: "valvemaster", Words: "the Valve-style master"})
	_ = Declare(Kind{Name: "q3master", Words: "the Quake 3 master"})
	_ = Declare(Kind{Name: "q2master", Words: "the Quake 2 master"})
	_ = Declare(Kind{Name: "qwmaster", Words: "the QuakeWorld master"})
	_ = Declare(Kind{Name: "odamaster", Words: "the Odamex master"})
	_ = Declare(Kind{Name: "torquemaster", Words: "the Torque master"})
	_ = Declare(Kind{Name: "tribesmaster", Words: "the Tribes master"})
	_ = Declare(Kind{Name: "theater", Words: "EA's server lists"})
	_ = Declare(Kind{Name: "idmaster", Words: "id Software's master", Names: true, Query: "idtech4"})
	_ = Declare(Kind{Name: "codmaster", Words: "the Call of Duty master", Names: true})
	_ = Declare(Kind{Name: "utmaster", Words: "Epic's master"})
	_ = Declare(Kind{Name: "nwmaster", Words: "BioWare's account check", Names: true, Query: "nwn"})
)
