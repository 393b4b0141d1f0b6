// What each resource is: its attributes, and the calls of the API that make, read, change and end it. All of it is in
// resources.json, which `npm run openapi` writes from the OpenAPI document of the same version.
package provider

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
)

//go:embed resources.json
var described []byte

// Description is resources.json.
type Description struct {
	Version   string               `json:"version"`
	Resources map[string]*Resource `json:"resources"`
}

// Resource is one type of resource. Without Create it is settings of something that is there already.
type Resource struct {
	About      string                `json:"about"`
	Create     *Call                 `json:"create"`
	Reads      []Reading             `json:"reads"`
	Updates    []Call                `json:"updates"`
	Delete     *Call                 `json:"delete"`
	Reset      bool                  `json:"reset"`
	Left       string                `json:"left"`
	Import     []string              `json:"import"`
	Gone       map[string]string     `json:"gone"`
	Used       string                `json:"used"`
	Attributes map[string]*Attribute `json:"attributes"`
}

// Call is one call that changes something, with the attributes that its body takes.
type Call struct {
	Method   string   `json:"method"`
	Path     string   `json:"path"`
	Body     []string `json:"body"`
	Version  bool     `json:"version"`
	Activate string   `json:"activate"`
	Makes    string   `json:"makes"`
}

// Reading is one GET. Of a second one, only Take is used.
type Reading struct {
	Path string   `json:"path"`
	Take []string `json:"take"`
	List bool     `json:"list"`
}

// Attribute is one attribute of a resource, or one field of an object in it.
type Attribute struct {
	Type        string                `json:"type"`
	Description string                `json:"description"`
	Field       string                `json:"field"`
	Fields      map[string]*Attribute `json:"fields"`
	Required    bool                  `json:"required"`
	Computed    bool                  `json:"computed"`
	ReadOnly    bool                  `json:"read_only"`
	Default     any                   `json:"default"`
	Sensitive   bool                  `json:"sensitive"`
	Secret      bool                  `json:"secret"`
	Replace     bool                  `json:"replace"`
	Fixed       bool                  `json:"fixed"`
	Moving      bool                  `json:"moving"`
	Once        bool                  `json:"once"`
	Rest        bool                  `json:"rest"`
	Parent      bool                  `json:"parent"`
	Time        bool                  `json:"time"`
	From        string                `json:"from"`
	When        map[string]string     `json:"when"`
	Enum        []string              `json:"enum"`
	Pattern     string                `json:"pattern"`
	Min         *float64              `json:"min"`
	Max         *float64              `json:"max"`
	Flag        *Flag                 `json:"flag"`

	pattern *regexp.Regexp
}

// Flag is a yes or no that one call sets and another takes back.
type Flag struct {
	Field string `json:"field"`
	Value string `json:"value"`
	On    string `json:"on"`
	Off   string `json:"off"`
}

// describe reads what was written at build time: what is wrong with it is a fault of the build.
func describe() *Description {
	var all Description
	if err := json.Unmarshal(described, &all); err != nil {
		panic(fmt.Sprintf("resources.json: %v", err))
	}
	for _, resource := range all.Resources {
		prepare(resource.Attributes)
	}
	return &all
}

func prepare(attributes map[string]*Attribute) {
	for name, one := range attributes {
		if one.Field == "" {
			one.Field = name
		}
		if one.From == "" {
			one.From = one.Field
		}
		if one.Pattern != "" {
			one.pattern = regexp.MustCompile(one.Pattern)
		}
		prepare(one.Fields)
	}
}

// hasSecret tells whether it, or a field in it, is write-only: its value is in the configuration alone.
func (a *Attribute) hasSecret() bool {
	if a.Secret {
		return true
	}
	for _, field := range a.Fields {
		if field.hasSecret() {
			return true
		}
	}
	return false
}
