// How messages name a setting of the user: as an option of the command line, or as an argument of
// the Python library. The surface that starts the process decides, before the first message.
#pragma once

namespace sesame {

// From now on settings are arguments. Call it before threads start.
void spell_settings_as_arguments();

// One of the two spellings, for instance of ("--stack-size", "stack_size="). Safe in a signal
// handler.
const char* spelled(const char* option, const char* argument);

}  // namespace sesame
