package webhook

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxContent is the length of a message in characters; Discord takes 2000.
const maxContent = 1900

// suppressEmbeds keeps links in names from becoming pictures.
const suppressEmbeds = 1 << 2

// message is the body of a request in format Discord.
type message struct {
	Content  string   `json:"content"`
	Mentions mentions `json:"allowed_mentions"`
	Flags    int      `json:"flags"`
}

// mentions are the users that a message may notify: none.
type mentions struct {
	Parse []string `json:"parse"`
}

// encodeDiscord returns the message about the first events of a list, and their
// number, at least one.
func encodeDiscord(events []Event) (body []byte, sent int) {
	var content strings.Builder
	length := 0
	for _, e := range events {
		line := discordLine(e)
		n := utf8.RuneCountInString(line) + 1
		if sent > 0 && length+n > maxContent {
			break
		}
		if sent > 0 {
			content.WriteByte('\n')
		}
		content.WriteString(line)
		length += n
		sent++
	}
	body, err := json.Marshal(message{Content: content.String(), Mentions: mentions{Parse: []string{}}, Flags: suppressEmbeds})
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return body, sent
}

// discordLine returns an event as a sentence. It is at most maxContent long: texts of
// strangers are short, and escapes at most double them.
func discordLine(e Event) string {
	switch e.Kind {
	case ServerUp:
		return "Up: " + discordServer(e.Server)
	case ServerDown:
		return "Down: " + discordServer(e.Server)
	case PlayersHigh:
		return "Busy: " + discordServer(e.Server)
	case PlayersLow:
		return "Quiet: " + discordServer(e.Server)
	case BanAdded:
		return "Banned: " + discordBan(e.Ban)
	case BanRemoved:
		return "Ban over: " + discordBan(e.Ban)
	case RoomUp:
		return "Chat: " + discordRoom(e.Room)
	case ChatBanned:
		return "Banned from chat: " + discordChatBan(e.ChatBan)
	case Said:
		return "**" + escapeMarkdown(e.Line.Nick) + "**: " + escapeMarkdown(e.Line.Text)
	default:
		return "This is a test of respawnd. All is well."
	}
}

func discordServer(s *Server) string {
	name := cmp.Or(s.Name, "no name")
	line := "**" + escapeMarkdown(name) + "** (" + escapeMarkdown(s.Title) + ") at `" + s.Address + "`, " + strconv.Itoa(s.Players)
	if s.MaxPlayers > 0 {
		line += "/" + strconv.Itoa(s.MaxPlayers)
	}
	line += " players"
	if s.Map != "" {
		line += ", map " + escapeMarkdown(s.Map)
	}
	return line
}

func discordBan(b *Ban) string {
	line := "`" + b.Prefix + "` from " + b.Scope
	if b.Expires != nil {
		line += " until " + b.Expires.Format("2006-01-02 15:04 MST")
	}
	if b.Reason != "" {
		line += ": " + escapeMarkdown(b.Reason)
	}
	return line
}

func discordRoom(r *Room) string {
	if r.Name == "" {
		return "players are in the lobby of " + escapeMarkdown(r.Title)
	}
	return "players are in room **" + escapeMarkdown(r.Name) + "** of " + escapeMarkdown(r.Title)
}

func discordChatBan(b *ChatBan) string {
	line := "`" + b.Prefix + "`"
	switch {
	case b.Profile != 0:
		line = "profile " + strconv.FormatUint(uint64(b.Profile), 10)
	case b.Nick != "":
		line = "nick " + escapeMarkdown(b.Nick)
	}
	if b.Channel != "" {
		line += " in " + escapeMarkdown(b.Channel)
	}
	if b.Expires != nil {
		line += " until " + b.Expires.Format("2006-01-02 15:04 MST")
	}
	if b.Reason != "" {
		line += ": " + escapeMarkdown(b.Reason)
	}
	return line
}

// escapeMarkdown puts a backslash before every character that formats, links or
// mentions.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_~|<>#@[](){}!:-+.=/&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
