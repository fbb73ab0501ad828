// Files by C++ streams and std::filesystem.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::ostringstream said;
  const auto say = [&](const std::string& text) {
    said << "rank " << rank << ": " << text << "\n";
  };
  const fs::path own = "cxx-" + std::to_string(rank);
  say("made " + std::to_string(fs::create_directories(own / "a/b")));
  {
    std::ofstream out(own / "a/text");
    for (int i = 0; i < 5000; ++i) out << i << ' ' << i * rank << '\n';
    say("at " + std::to_string(out.tellp()));
  }
  {
    std::ifstream in(own / "a/text");
    long total = 0;
    for (long value; in >> value;) total += value;
    say("total " + std::to_string(total));
  }
  {
    std::fstream both(own / "a/text", std::ios::in | std::ios::out | std::ios::binary);
    both.seekp(10);
    both << "XYZ";
    both.seekg(8);
    std::string word;
    std::getline(both, word);
    say("word " + word);
    both.seekg(0, std::ios::end);
    say("end " + std::to_string(both.tellg()));
  }
  say("size " + std::to_string(fs::file_size(own / "a/text")));
  fs::copy_file(own / "a/text", own / "copy");
  fs::rename(own / "copy", own / "a/b/moved");
  say("exists " + std::to_string(fs::exists(own / "copy")) +
      std::to_string(fs::exists(own / "a/b/moved")));
  fs::resize_file(own / "a/b/moved", 100);
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(own))
    names.push_back(entry.path().string() + (entry.is_directory() ? "/" : ""));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) say(name);
  const fs::path before = fs::current_path();
  fs::current_path(own / "a");
  say("in " + fs::current_path().lexically_relative(before).string());
  say("there " + std::to_string(fs::file_size("b/moved")));
  fs::current_path(before);
  say("removed " + std::to_string(fs::remove_all(own / "a/b")));
  say("missing " + std::to_string(std::ifstream(own / "a/b/moved").is_open()));
  std::cout << said.str();
  MPI_Finalize();
}
