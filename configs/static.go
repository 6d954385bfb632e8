package configs

// StaticServer is a game server that is queried and listed because an operator
// named it.
type StaticServer struct {
	Protocol string // one of StaticProtocols
	Address  string // host:port; the host may be a name
}

// String returns the server as servers.static spells it.
func (s StaticServer) String() string { return s.Protocol + " " + s.Address }

// StaticProtocols returns the protocols in which a game server can be queried.
func StaticProtocols() []string {
	return []string{"gs1", "gs3", "a2s", "ssq", "zandronum", "quake3", "idtech4", "nwn", "quake2", "quakeworld", "unreal2", "ase", "battlefield"}
}
