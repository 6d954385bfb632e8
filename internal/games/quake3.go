package games

import "slices"

// Quake3 is a name under which servers of a game register with a master of
// Quake III's protocol, or of one that is made like it. The services that a game needs
// or uses say which: one with Kind.Names, else that of Quake III.
type Quake3 struct {
	// In requests for lists; case matters. Games of one family may share it.
	Name string `yaml:"name,required" as:"word" max:"63"`
	// Word of heartbeats of servers that may leave out the name, and whose lists clients
	// request by protocol alone; without it they state the name.
	Tag string `yaml:"tag" as:"word" max:"63"`
	// Word of the heartbeat of a server that stops.
	Flatline string `yaml:"flatline" as:"word" max:"63"`
	// By which games with one tag differ; at idmaster the upper halves of their numbers,
	// at nwmaster the byte in the answers of servers.
	Protocols []int `yaml:"protocols" most:"32"`
	// Of the game's master, where it is not that of the first game, and of its keys. They
	// tell games apart whose protocols have the same numbers.
	Ports []uint16 `yaml:"ports" range:"1 to 65535" most:"4"`
	// on: lists always hold empty and full servers, requested or not.
	Whole bool `yaml:"whole"`
}

func (q *Quake3) rules(bad func(string, ...any)) {
	if q.Flatline != "" && (q.Tag == "" || q.Flatline == q.Tag) {
		bad("the flatline must have a tag and differ from it")
	}
}

// Quake3Index finds games by their names in Quake III's protocol. It is part of a
// catalogue and never changes.
type Quake3Index struct {
	byTag     map[string][]quake3Of
	byName    map[string][]quake3Of
	flatlines map[string]bool
	whole     map[string]bool
	anonymous map[int]string // by protocol: the name of a game with a tag
	all       []quake3Of
}

// quake3Of is a name of a game.
type quake3Of struct {
	game string
	*Quake3
}

// noQuake3 is the index of a catalogue without games.
var noQuake3 = new(Quake3Index)

// Quake3 returns the index of the names in Quake III's protocol.
func (c *Catalog) Quake3() *Quake3Index { return c.MasterNames("") }

// MasterNames returns the index of the names at a service with Kind.Names; for others that of
// the games that name no such service.
func (c *Catalog) MasterNames(s Service) *Quake3Index {
	if !s.kind().Names {
		s = ""
	}
	if idx := c.current.Load(); idx != nil && idx.quake3[s] != nil {
		return idx.quake3[s]
	}
	return noQuake3
}

// NamesIn returns MasterNames of the service whose servers answer queries in a protocol.
func (c *Catalog) NamesIn(query string) *Quake3Index {
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Names && k.Query == query }); i >= 0 {
		return c.MasterNames(kinds[i].Name)
	}
	return noQuake3
}

// quake3Master returns the service that a game's names are for, "" for that of Quake III.
func quake3Master(f *Facts) Service {
	for _, s := range slices.Concat(f.Needs, f.Uses) {
		if s.kind().Names {
			return s
		}
	}
	return ""
}

func quake3Indexes(list []Game) map[Service]*Quake3Index {
	all := make(map[Service]*Quake3Index)
	for i := range list {
		if len(list[i].Quake3) == 0 {
			continue
		}
		s := quake3Master(&list[i].Facts)
		if all[s] == nil {
			all[s] = &Quake3Index{
				byTag: make(map[string][]quake3Of), byName: make(map[string][]quake3Of),
				flatlines: make(map[string]bool), whole: make(map[string]bool), anonymous: make(map[int]string),
			}
		}
		all[s].add(&list[i])
	}
	return all
}

// add indexes the names of a game. Of several games with a protocol the first one has it.
func (x *Quake3Index) add(g *Game) {
	for k := range g.Quake3 {
		q := &g.Quake3[k]
		of := quake3Of{g.Name, q}
		x.all = append(x.all, of)
		x.byName[q.Name] = append(x.byName[q.Name], of)
		x.whole[q.Name] = x.whole[q.Name] || q.Whole
		if q.Tag == "" {
			continue
		}
		x.byTag[q.Tag] = append(x.byTag[q.Tag], of)
		if q.Flatline != "" {
			x.flatlines[q.Flatline] = true
		}
		for _, p := range q.Protocols {
			if _, taken := x.anonymous[p]; !taken {
				x.anonymous[p] = q.Name
			}
		}
	}
}

// Tag returns a tag of heartbeats as a string if servers that send it may leave out
// the name of their game. It does not keep tag.
func (x *Quake3Index) Tag(tag []byte) (string, bool) {
	if list := x.byTag[string(tag)]; len(list) > 0 {
		return list[0].Tag, true
	}
	return "", false
}

// Flatline reports whether a tag is that of a server that stops. It does not keep
// tag.
func (x *Quake3Index) Flatline(tag []byte) bool { return x.flatlines[string(tag)] }

// Anonymous returns the name of the game with a tag that has a protocol; empty:
// there is none.
func (x *Quake3Index) Anonymous(protocol int) string { return x.anonymous[protocol] }

// Whole reports whether the lists of a game always hold empty and full servers.
func (x *Quake3Index) Whole(name string) bool { return x.whole[name] }

// Named returns the game of the catalogue that servers with a name and protocol
// belong to; empty: none.
func (x *Quake3Index) Named(name string, protocol int) string {
	of, _ := pick(x.byName[name], "", protocol)
	return of.game
}

// Tagged returns the name under which a server registers that sends a tag, names
// its game, which may be empty, and a protocol, and the game of the catalogue that
// it belongs to. ok is false if the tag has no game of that name.
func (x *Quake3Index) Tagged(tag, said string, protocol int) (name, game string, ok bool) {
	of, ok := pick(x.byTag[tag], said, protocol)
	if !ok {
		return "", "", false
	}
	return of.Name, of.game, true
}

// Speaking returns the game that has a protocol, the first if several have.
func (x *Quake3Index) Speaking(protocol int) (game string, ok bool) {
	for _, of := range x.all {
		if slices.Contains(of.Protocols, protocol) {
			return of.game, true
		}
	}
	return "", false
}

// AtPort returns the name with a protocol whose master has a port; empty: there is none.
func (x *Quake3Index) AtPort(port uint16, protocol int) string {
	for _, of := range x.all {
		if slices.Contains(of.Ports, port) && slices.Contains(of.Protocols, protocol) {
			return of.Name
		}
	}
	return ""
}

// Ports returns the further ports of the masters, without duplicates, in the order of
// the games.
func (x *Quake3Index) Ports() (ports []uint16) {
	for _, of := range x.all {
		for _, p := range of.Ports {
			if !slices.Contains(ports, p) {
				ports = append(ports, p)
			}
		}
	}
	return ports
}

// pick returns the game with a name, any if it is empty, that has a protocol, else
// the first with that name.
func pick(list []quake3Of, name string, protocol int) (found quake3Of, ok bool) {
	for _, of := range list {
		if name != "" && of.Name != name {
			continue
		}
		if slices.Contains(of.Protocols, protocol) {
			return of, true
		}
		if !ok || len(of.Protocols) == 0 && len(found.Protocols) > 0 {
			found, ok = of, true
		}
	}
	return found, ok
}
