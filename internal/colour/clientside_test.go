package colour

// Words returns the families that a catalogue can name.
func Words() []string {
	var out []string
	for f := Quake; f < families; f++ {
		out = append(out, f.String())
	}
	return out
}
