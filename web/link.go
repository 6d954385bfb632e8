package web

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/respawnd/respawnd/web/page"
)

// Link is an entry of Config.Links.
type Link struct {
	Title string `yaml:"title"`
	URL   string `yaml:"url"`
}

// Longest parts of a Link, in characters and bytes.
const (
	maxLinkTitle = 60
	maxLinkURL   = 1000
)

// CheckEntry implements configs.Entry.
func (l *Link) CheckEntry() error {
	switch n := utf8.RuneCountInString(l.Title); {
	case strings.TrimSpace(l.Title) == "":
		return errors.New("has no title")
	case n > maxLinkTitle:
		return fmt.Errorf("has a title of %d characters, at most %d are allowed", n, maxLinkTitle)
	case strings.ContainsFunc(l.Title, unicode.IsControl):
		return errors.New("has a control character in its title")
	}
	return checkLinkURL(l.URL)
}

// checkLinkURL accepts addresses of web pages and of mailboxes.
func checkLinkURL(text string) error {
	if len(text) > maxLinkURL {
		return fmt.Errorf("has a url of more than %d bytes", maxLinkURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("has a url that cannot be read")
	case u.Scheme == "mailto" && strings.Contains(u.Opaque, "@"):
		return nil
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	}
	return errors.New("has a bad url: it begins with https:// or http:// and a host, or is mailto: and an e-mail address")
}

// contactLink returns the link of a contact: that of a mail or web address, "" for
// any other text.
func contactLink(contact string) string {
	if strings.ContainsAny(contact, " <>\"") {
		return ""
	}
	for _, text := range []string{contact, "mailto:" + contact} {
		if checkLinkURL(text) == nil {
			return text
		}
	}
	return ""
}

// community returns the configured description of the site.
func (c *Config) community() page.Community {
	out := page.Community{Title: c.Title, Contact: page.Link{Title: c.Contact, URL: contactLink(c.Contact)}, Message: c.Message}
	for _, l := range c.Links {
		out.Links = append(out.Links, page.Link(l))
	}
	return out
}
