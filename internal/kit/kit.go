// Package kit makes the files with which a player leads a game to a server: lines and scripts for
// the hosts file, settings of an emulator, the changes of the program that the game is known to
// need, and a README with what is known of playing it there.
//
// The bytes follow from a Kit alone, so that their checksum can be published. The package is not
// for changing anything on a computer: packages hostsfile and binpatch do that.
package kit

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
)

// Kit describes what a player needs.
type Kit struct {
	Game    games.Game
	Address netip.Addr // of the server
	Domains []string   // of the operator, beside those of the game
	// Leads reports whether a name may lead to the server.
	Leads func(games.HostName) bool
	// Known is what is known of each edition of the game at the server.
	Known []games.Outlook
	// Scripts puts the scripts into the kit: not where others could change it on its way.
	Scripts bool
	// Page is the address of the game's page at the server; empty: it is not known.
	Page string
	// Lang is the language of the texts for the player.
	Lang *lang.Language
}

// File is a file of a kit.
type File struct {
	Name string
	Text []byte
}

// names returns the names that lead to the server.
func (k *Kit) names() ([]string, error) { return k.Game.LeadingNames(k.Domains, k.Leads) }

// Zip returns the files of the kit as an archive. Equal kits are equal byte by byte: the files are
// not compressed and have no times.
func (k *Kit) Zip() ([]byte, error) {
	files, err := k.Files()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		head := &zip.FileHeader{Name: k.Game.Name + "/" + f.Name, Method: zip.Store}
		head.SetMode(0o644)
		if strings.HasSuffix(f.Name, ".sh") {
			head.SetMode(0o755)
		}
		part, err := w.CreateHeader(head)
		if err == nil {
			_, err = part.Write(f.Text)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Files returns the files of the kit, the README first. The error is one of games.WriteHosts.
func (k *Kit) Files() ([]File, error) {
	hosts, err := k.HostsFile()
	if err != nil {
		return nil, err
	}
	names, err := k.names()
	if err != nil {
		return nil, err
	}
	files := []File{{"README.txt", nil}}
	switch platform := k.Game.Platform(); {
	case len(names) == 0:
	case platform == games.PS3:
		files = append(files, File{"rpcs3.txt", []byte(strings.Join(each(names, "%s="+k.Address.String()), "&&") + "\r\n")})
	case platform == games.PSP:
		lines := append([]string{"[HostAliases]"}, each(names, "%s = "+k.Address.String())...)
		files = append(files, File{"ppsspp.ini", []byte(strings.Join(lines, "\r\n") + "\r\n")})
	case platform == "":
		files = append(files, hosts)
		for _, kind := range []string{"bat", "sh"} {
			if s, err := Hosts(kind, k); err == nil && k.Scripts { // without it there are still the lines
				files = append(files, s)
			}
		}
	}
	if k.Game.Platform().Sentence() != "" {
		card, err := k.card()
		if err != nil {
			return nil, err
		}
		files = append(files, card)
	}
	if lines := k.Game.SettingsFor(k.Address); len(lines) > 0 {
		files = append(files, File{"settings.txt", []byte(strings.Join(lines, "\r\n") + "\r\n")})
	}
	if text := k.patches(); text != "" {
		files = append(files, File{"patch.txt", k.text(text)})
	}
	files[0].Text = k.text(k.readme(files))
	return files, nil
}

// text returns a text for the player as Windows' programs of that time need it, which take a text
// for Unicode if it begins with a mark.
func (k *Kit) text(text string) []byte {
	if k.Lang.String() != "en" {
		text = "\ufeff" + text
	}
	return []byte(windows(text))
}

// each formats every name.
func each(names []string, format string) (lines []string) {
	for _, n := range names {
		lines = append(lines, fmt.Sprintf(format, n))
	}
	return lines
}

// HostsFile returns the lines for a hosts file.
func (k *Kit) HostsFile() (File, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s through respawnd at %s\n", k.title(), k.Address)
	b.WriteString("# Add these lines to /etc/hosts, on Windows to C:\\Windows\\System32\\drivers\\etc\\hosts\n")
	err := games.WriteHosts(&b, k.Game, k.Address, k.Domains, k.Leads)
	return File{"hosts-" + k.Game.Name + ".txt", []byte(windows(b.String()))}, err
}

func (k *Kit) title() string { return cmp.Or(k.Game.Title, k.Game.Name) }

// patches says which changes of its program the game is known to need, and which respawnd makes.
func (k *Kit) patches() string {
	changes := k.Game.Patches()
	if len(changes) == 0 {
		return ""
	}
	var b strings.Builder
	say := func(text string, args ...any) { b.WriteString(k.Lang.T(text, args...) + "\n") }
	made := slices.ContainsFunc(changes, games.Change.Made)
	if made {
		say(lang.Key("Some copies of %1 need a changed program. Do this only to a copy that you own."), k.title())
		say(lang.Key("A copy of the file is kept; respawnd point patch --undo FILE puts it back."))
	} else {
		say(lang.Key("Some copies of %1 need a change that respawnd does not make."), k.title())
	}
	b.WriteString("\n")
	command := []string{"respawnd point patch FILE --game", k.Game.Name}
	for _, c := range changes {
		switch c {
		case games.HTTPSToHTTP:
			say(lang.Key("%1: the program asks the web services over http."), c)
		case games.NewDomain:
			say(lang.Key("%1: a name of the operator’s, not longer than %2, takes its place in the program."), c, games.DefaultDomain)
			command = append(command, "--domain DOMAIN")
		case games.AuthKey:
			say(lang.Key("%1: the key of the server takes the place of the original one. The operator has it: respawnd webservices key"), c)
			command = append(command, "--auth-key KEYFILE")
		default:
			b.WriteString(c.Advice(k.Lang) + "\n")
		}
	}
	if !made {
		return b.String()
	}
	return b.String() + "\n" + strings.Join(command, " ") + "\n"
}

// emulators says how the common emulator of a console is led to a DNS server.
var emulators = map[games.Platform]string{
	games.Wii: lang.Key("Dolphin asks the DNS server of the computer: enter it there."),
	games.DS:  lang.Key("melonDS: enter it in the Wi-Fi settings of the game, as on the console."),
}

// readme returns the text that explains the files.
func (k *Kit) readme(files []File) string {
	var b strings.Builder
	l, name := k.Lang, k.Game.Name
	line := func(text string) { b.WriteString(text + "\n") }
	point := func(text string) { line("- " + text) }
	has := func(name string) bool { return slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) }
	line(l.T("%1 (%2) through the server at %3", k.title(), name, k.Address))
	line("\n" + l.T("What is known of playing it there:"))
	if k.Game.See != "" {
		point(l.T("It is another version of %1: see there.", k.Game.See))
	}
	for i := range k.Known {
		point(k.known(&k.Known[i]))
	}
	line("\n" + l.T("What to do:"))
	if sentence := k.Game.Platform().Sentence(); sentence != "" {
		point(l.T(sentence))
		point(l.T("Enter %1 as the DNS server of the console, if the operator runs one there.", k.Address))
	}
	if has("card.svg") {
		point(l.T("card.svg is a card with the DNS server, to print or to show; its code is for a phone."))
	}
	if emulator := emulators[k.Game.Platform()]; emulator != "" {
		point(l.T(emulator))
	}
	if has("rpcs3.txt") {
		point(l.T("RPCS3: put the line of rpcs3.txt into IP/Hosts switches of the settings of the network."))
	}
	if has("ppsspp.ini") {
		point(l.T("PPSSPP: put the lines of ppsspp.ini into the file of that name of the emulator."))
	}
	if has("hosts-" + name + ".txt") {
		point(l.T("Add the lines of hosts-%1.txt to the hosts file. To undo it, remove them again.", name))
	}
	if has("hosts-" + name + ".bat") {
		line("  " + l.T(`Or, on Windows: click hosts-%1.bat with the right mouse button, "Run as administrator".`, name))
		line("  " + l.T("Or, on Linux and macOS: sudo sh hosts-%1.sh. Both remove the lines if started with the word undo.", name))
	}
	if via := k.Game.Means(); via != "" {
		point(l.T(via))
	}
	if has("settings.txt") {
		point(l.T("Put the lines of settings.txt into the file that it names, in place of those with the same beginning."))
	}
	if has("patch.txt") {
		point(l.T("Read patch.txt."))
	}
	if scheme, _, ok := strings.Cut(k.Game.Join, "://"); ok {
		point(l.T("Links on the pages of the server that begin with %1:// start the game, if its launcher is installed.", scheme))
	}
	line("\n" + l.T("To test the way there: respawnd point test %1 --to %2", name, k.Address))
	return b.String()
}

// known returns what is known of copies, with the evidence.
func (k *Kit) known(o *games.Outlook) string {
	e, l := &o.Edition, k.Lang
	text := o.LineIn(l) + "."
	if e.Evidence != "" {
		text += " " + l.T("Known from:") + " " + e.Evidence + " (" + e.Source
		if e.Date != "" {
			text += ", " + e.Date
		}
		text += ")."
	}
	if e.Hint != "" {
		text += " " + e.Hint
	}
	if len(e.Refuse) > 0 {
		text += " " + l.T("The game waits for %1, which must have no address.", strings.Join(e.Refuse, ", "))
	}
	return text
}
