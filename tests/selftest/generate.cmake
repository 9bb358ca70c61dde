# Generated mutants: the arguments by which one is left out, on code written by hand; and
# a program that measures the catch rate.
add_executable(generated_rate generated_rate.c)
wf_warnings(generated_rate)
target_link_libraries(generated_rate PRIVATE wf_selftest)
