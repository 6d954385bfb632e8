package games

// maxListedName is the longest name of a game that is not in the catalogue.
const maxListedName = 32

// unproved is appended to the name of a game with a secret key for servers that
// did not prove that they know the key. Clients of the game itself never see
// those servers.
const unproved = ".a2s"

// ListedAs returns the name under which a server that names its game is listed;
// ok is false if that is not a valid name. It may be that of a game in the
// catalogue: see [ListedName] for the others. beside is set for servers without
// proof of their game: they are listed beside a game with a key, not in it,
// unless its policy has A2S.
func (c *Catalog) ListedAs(said string, beside bool) (name string, ok bool) {
	name, ok = ListedName(said)
	if g, known := c.Lookup(name); known && beside && g.Usable() && g.Policy.A2S != On {
		name += unproved
	}
	return name, ok && len(name) <= maxListedName
}

// ListedName returns the name under which a game that is not in the catalogue is listed: the name
// that a server sends, in lower case and with _ for spaces. ok is false if that is empty, longer
// than 32 bytes or has other characters than letters, digits and _ - + . in it.
func ListedName(said string) (name string, ok bool) {
	if said == "" || len(said) > maxListedName {
		return "", false
	}
	b := []byte(said)
	for i, c := range b {
		switch {
		case 'A' <= c && c <= 'Z':
			b[i] = c + 'a' - 'A'
		case c == ' ':
			b[i] = '_'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-', c == '+', c == '.':
		default:
			return "", false
		}
	}
	return string(b), true
}
