// Values on their way between Terraform and JSON, by what resources.json says of them.
package provider

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Precision is that of Terraform's own numbers: 0.1 read from JSON is the 0.1 of a configuration.
const precision = 512

const microsPerUSD = 1_000_000

type values map[string]tftypes.Value

// attributesIn gives the attributes of an object; none, where it is null or unknown.
func attributesIn(object tftypes.Value) values {
	all := values{}
	if object.Type() == nil || object.IsNull() || !object.IsKnown() {
		return all
	}
	if err := object.As((*map[string]tftypes.Value)(&all)); err != nil {
		return values{}
	}
	return all
}

func elementsIn(value tftypes.Value) []tftypes.Value {
	var all []tftypes.Value
	if value.IsNull() || !value.IsKnown() || value.As(&all) != nil {
		return nil
	}
	return all
}

// text is a string attribute, or "" where there is none.
func (v values) text(name string) string {
	var text string
	if value, ok := v[name]; ok && value.IsKnown() && !value.IsNull() {
		_ = value.As(&text)
	}
	return text
}

func isSet(value tftypes.Value) bool {
	return value.Type() != nil && value.IsKnown() && !value.IsNull()
}

// toJSON is what a call sends for a value. Fields of an object that are null are left out of it.
func toJSON(a *Attribute, value tftypes.Value) (any, error) {
	if !isSet(value) {
		return nil, nil
	}
	switch a.Type {
	case "int", "number":
		number := new(big.Float)
		if err := value.As(&number); err != nil {
			return nil, err
		}
		return json.Number(number.Text('f', -1)), nil
	case "bool":
		var yes bool
		err := value.As(&yes)
		return yes, err
	case "set":
		texts := []string{}
		for _, element := range elementsIn(value) {
			var text string
			if err := element.As(&text); err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		return texts, nil
	case "map":
		texts := map[string]string{}
		for name, element := range attributesIn(value) {
			var text string
			if err := element.As(&text); err != nil {
				return nil, err
			}
			texts[name] = text
		}
		return texts, nil
	case "list":
		objects := []any{}
		for _, element := range elementsIn(value) {
			object, err := objectToJSON(a, element)
			if err != nil {
				return nil, err
			}
			objects = append(objects, object)
		}
		return objects, nil
	case "object":
		return objectToJSON(a, value)
	}
	var text string
	err := value.As(&text)
	return text, err
}

func objectToJSON(a *Attribute, value tftypes.Value) (any, error) {
	object := map[string]any{}
	inside := attributesIn(value)
	for name, field := range a.Fields {
		if !isSet(inside[name]) {
			continue
		}
		one, err := toJSON(field, inside[name])
		if err != nil {
			return nil, err
		}
		object[field.Field] = one
	}
	return object, nil
}

// fromJSON is what an answer says of an attribute, as a value of Terraform's type.
func fromJSON(a *Attribute, told any, of tftypes.Type) (tftypes.Value, error) {
	null := tftypes.NewValue(of, nil)
	if told == nil {
		return null, nil
	}
	wrong := func() (tftypes.Value, error) {
		return null, fmt.Errorf("the server answered a %T for '%s', which is a %s", told, a.From, a.Type)
	}
	switch a.Type {
	case "int", "number":
		number, ok := told.(json.Number)
		if !ok {
			return wrong()
		}
		value, _, err := big.ParseFloat(decimal(a, number), 10, precision, big.ToNearestEven)
		if err != nil {
			return wrong()
		}
		return tftypes.NewValue(of, value), nil
	case "bool":
		yes, ok := told.(bool)
		if !ok {
			return wrong()
		}
		return tftypes.NewValue(of, yes), nil
	case "set", "list":
		all, ok := told.([]any)
		if !ok {
			return wrong()
		}
		elements := []tftypes.Value{}
		for _, one := range all {
			element, err := elementFrom(a, one, elementType(of))
			if err != nil {
				return null, err
			}
			elements = append(elements, element)
		}
		return tftypes.NewValue(of, elements), nil
	case "map":
		all, ok := told.(map[string]any)
		if !ok {
			return wrong()
		}
		elements := map[string]tftypes.Value{}
		for name, one := range all {
			elements[name] = tftypes.NewValue(tftypes.String, fmt.Sprint(one))
		}
		return tftypes.NewValue(of, elements), nil
	case "object":
		return objectFrom(a, told, of)
	}
	text, ok := told.(string)
	if !ok {
		return wrong()
	}
	return tftypes.NewValue(of, text), nil
}

func elementType(of tftypes.Type) tftypes.Type {
	switch one := of.(type) {
	case tftypes.List:
		return one.ElementType
	case tftypes.Set:
		return one.ElementType
	}
	return tftypes.String
}

func elementFrom(a *Attribute, told any, of tftypes.Type) (tftypes.Value, error) {
	if len(a.Fields) > 0 {
		return objectFrom(a, told, of)
	}
	return tftypes.NewValue(of, fmt.Sprint(told)), nil
}

func objectFrom(a *Attribute, told any, of tftypes.Type) (tftypes.Value, error) {
	object, ok := told.(map[string]any)
	shape, isObject := of.(tftypes.Object)
	if !ok || !isObject {
		return tftypes.NewValue(of, nil), fmt.Errorf("the server answered a %T for '%s', which is an object", told, a.From)
	}
	inside := map[string]tftypes.Value{}
	for name, field := range a.Fields {
		value, err := fromJSON(field, object[field.From], shape.AttributeTypes[name])
		if err != nil {
			return tftypes.NewValue(of, nil), err
		}
		inside[name] = value
	}
	return tftypes.NewValue(of, inside), nil
}

// decimal is a number as text, of micro-USD in USD, so that no binary fraction comes between.
func decimal(a *Attribute, number json.Number) string {
	if a.Type != "number" || !strings.HasSuffix(a.From, "_micros") {
		return number.String()
	}
	micros, err := number.Int64()
	if err != nil {
		return number.String()
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%06d", micros/microsPerUSD, micros%microsPerUSD), "0"), ".")
}

// pick follows a path like `api_key.key` into an answer.
func pick(answer map[string]any, from string) any {
	var at any = answer
	for _, part := range strings.Split(from, ".") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[part]
	}
	return at
}

// sameInstant tells whether two texts are the same time: the server says it in UTC and to the millisecond.
func sameInstant(one, other string) bool {
	first, wrong := time.Parse(time.RFC3339Nano, one)
	second, alsoWrong := time.Parse(time.RFC3339Nano, other)
	return wrong == nil && alsoWrong == nil && first.Truncate(time.Millisecond).Equal(second.Truncate(time.Millisecond))
}
